"""What is true regardless of time: events, filters, trees."""
