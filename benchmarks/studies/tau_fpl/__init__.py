"""Zhang et al. (2018), tau-FPL: tables, scaling, speed and coverage."""
