"""Questions about a fleet that more than one cell of a grid answers: pools of services, pairs of node kinds."""
