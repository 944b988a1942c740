"""Server for captioning challenges and annotation campaigns."""
