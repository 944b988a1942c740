"""Entry point of `python -m capeval`, which runs the command line."""

from capeval.cli import main

if __name__ == "__main__":
    main()
