export const area = (width: number, height: number): number => width * height;
export const name = (sides: number): string => ['shape', 'shape', 'shape', 'triangle', 'square'][sides] ?? 'shape';
