"""From a contract to a cube."""
