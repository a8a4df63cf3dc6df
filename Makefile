# sealane. The two commands: make run, make test.
