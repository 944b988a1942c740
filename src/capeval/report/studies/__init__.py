"""Tables and figures of studies, where they are not of the general kind."""
