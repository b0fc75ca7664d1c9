/** Where the ecosystem's documents keep the messages of a package; clients know the names. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['meta', 'io.k8s.apimachinery.pkg.apis.meta'],
  ['resource', 'io.k8s.apimachinery.pkg.api.resource'],
  ['intstr', 'io.k8s.apimachinery.pkg.util.intstr'],
  ['runtime', 'io.k8s.apimachinery.pkg.runtime'],
])

/** The name under which documents define a message: `io.k8s.api.core.v1.Service`. */
export function schemaName(message: string): string {
  const dot = message.indexOf('.')
  const room = message.slice(0, dot)
  return `${prefixes.get(room) ?? `io.k8s.api.${room}`}${message.slice(dot)}`
}
