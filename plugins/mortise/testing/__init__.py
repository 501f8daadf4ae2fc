"""What tests of agents and plugins need."""
