"""The explorer: one page that shows any two axes of a cube, served on this machine or written as one file."""
