def area(width, height):
    return width * height


def name(sides):
    return {3: "triangle", 4: "square"}.get(sides, "shape")
