/** Sum of all samples of one metric in a Prometheus text whose labels include `labels`. */
export function sumOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  let sum = 0
  for (const line of text.split('\n')) {
    const [, metric, set = '', value] = /^([^\s{#]+)(\{.*\})? (\S+)/.exec(line) ?? []
    if (metric === name && wanted.every((pair) => set.includes(pair))) sum += Number(value)
  }
  return sum
}

/** Whether the kernel holds everything up to these revisions, by resource. */
export function isApplied(text: string, versions: ReadonlyMap<string, number>): boolean {
  return [...versions].every(
    ([resource, version]) =>
      sumOf(text, 'nodeproxy_applied_resource_version', { resource }) >= version,
  )
}
