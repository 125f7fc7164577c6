"""``python -m monmdp`` is the command ``monmdp``."""

from monmdp.cli import main

main()
