"""python3 tools/prove MODULE ...: one part of the prover, such as run.prove, induction.gcm or tests.semantics; see its own head."""
import importlib
import sys

module = importlib.import_module(sys.argv.pop(1))
sys.exit(module.main() if hasattr(module, "main") else importlib.import_module("induction.engine").main(module))
