"""The HTML report in a browser: what a reader sees, presses and takes away."""
