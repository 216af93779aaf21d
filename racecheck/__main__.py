"""`python -m racecheck`, for places where the command is not on the path."""

from racecheck.cli import main

if __name__ == "__main__":
    main(prog_name="racecheck")
