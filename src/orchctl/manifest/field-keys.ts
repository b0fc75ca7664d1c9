/** The keys of a field as errors of the API name it: `spec.ports[0].name`, `metadata.annotations[a.b/c]`. */
export function fieldKeys(field: string): readonly (string | number)[] {
  const keys: (string | number)[] = []
  for (const [, name, inside] of field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/gu)) {
    if (name !== undefined) keys.push(name)
    else keys.push(/^\d+$/.test(inside ?? '') ? Number(inside) : unquoted(inside ?? ''))
  }
  return keys
}

function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/su, '$2')
}
