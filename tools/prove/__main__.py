"""python3 tools/prove MODULE ...: one part of the prover, such as run.prove, induction.gcm or tests.semantics; see its own head."""
import importlib
import sys

sys.exit(importlib.import_module(sys.argv.pop(1)).main())
