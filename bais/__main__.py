"""So that `python -m bais` is `bais`."""

import sys

from bais.main import main

sys.exit(main())
