package root

func Area(width, height int) int { return width * height }
