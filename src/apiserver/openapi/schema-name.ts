/** The prefixes that Kubernetes' documents give to packages; clients know the names. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['meta', 'io.k8s.apimachinery.pkg.apis.meta'],
  ['resource', 'io.k8s.apimachinery.pkg.api.resource'],
  ['intstr', 'io.k8s.apimachinery.pkg.util.intstr'],
  ['runtime', 'io.k8s.apimachinery.pkg.runtime'],
])

/** The name under which documents define a message: `io.k8s.api.core.v1.Service`. */
export function schemaName(message: string): string {
  const dot = message.indexOf('.')
  const packageName = message.slice(0, dot)
  return `${prefixes.get(packageName) ?? `io.k8s.api.${packageName}`}${message.slice(dot)}`
}
