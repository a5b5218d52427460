def generate_launch_descriptions():
    return None
