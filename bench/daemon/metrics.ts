/** `name{label="value"}` → value. */
export type Samples = ReadonlyMap<string, number>

/** Reads a Prometheus text exposition. */
export function parseMetrics(text: string): Samples {
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    const found = /^([a-zA-Z_:][^ {]*(?:\{.*\})?) (\S+)/.exec(line)
    if (found?.[1] !== undefined) samples.set(found[1], Number(found[2]))
  }
  return samples
}

/** Sum of all samples of a name whose labels include these. */
export function sumOf(samples: Samples, name: string, ...labels: readonly string[]): number {
  let sum = 0
  for (const [key, value] of samples) {
    const matches = key === name || key.startsWith(`${name}{`)
    if (matches && labels.every((label) => key.includes(label))) sum += value
  }
  return sum
}
