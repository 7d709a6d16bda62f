"""``python -m countersign_client verify <receipt>``."""

import sys

from .verify.command import main

if __name__ == "__main__":
    if sys.argv[1:2] != ["verify"]:
        print("usage: python -m countersign_client verify <id | url | file | -> [options]", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[2:]))
