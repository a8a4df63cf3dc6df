"""How each part of the prover reports its results."""


def summary(part, results, first=False):
    """Prints the failed ones of the results, (what, why it failed or None), and how many passed. first: ends after the
    first that failed. Returns the exit status."""
    passed = failed = 0
    for what, why in results:
        passed, failed = passed + (why is None), failed + (why is not None)
        if why is not None:
            print(f"FAIL {what}: {why}", flush=True)
        if failed and first:
            break
    print(f"{part}: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
