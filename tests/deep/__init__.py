"""Deep agents of Stable-Baselines3 on monitored environments."""
