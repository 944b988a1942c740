"""`python -m capeval` is the command line."""

from capeval.cli import main

if __name__ == "__main__":
    main()
