/**
 * Whether `--controllers` asks for a controller: by its name, or by `*` unless
 * `-name` takes it out.
 */
export function isSelected(name: string, selection: readonly string[]): boolean {
  if (selection.includes(`-${name}`)) return false
  return selection.includes(name) || selection.includes('*')
}

/** Names of a selection that no controller has. */
export function unknownNames(
  selection: readonly string[],
  known: readonly string[],
): readonly string[] {
  const isKnown = (one: string): boolean => one === '*' || known.includes(one.replace(/^-/, ''))
  return selection.filter((one) => !isKnown(one))
}
