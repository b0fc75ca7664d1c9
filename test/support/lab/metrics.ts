/** Samples of a Prometheus text exposition: `name{label="value"}` → value. */
export type Samples = ReadonlyMap<string, number>

export function parseMetrics(text: string): Samples {
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    const found = /^([a-zA-Z_:][^ {]*(?:\{.*\})?) (\S+)/.exec(line)
    if (found?.[1] !== undefined) samples.set(found[1], Number(found[2]))
  }
  return samples
}

/** Sum of all samples of `name` whose labels include `labels`. */
export function sumOf(
  samples: Samples,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  let sum = 0
  for (const [key, value] of samples) {
    if (key !== name && !key.startsWith(`${name}{`)) continue
    const wanted = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
    if (wanted.every((text) => key.includes(text))) sum += value
  }
  return sum
}
