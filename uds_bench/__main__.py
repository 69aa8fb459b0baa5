"""`python -m uds_bench`: the command `uds-bench`."""

from uds_bench.cli import main

if __name__ == "__main__":
    main(prog_name="uds-bench")
