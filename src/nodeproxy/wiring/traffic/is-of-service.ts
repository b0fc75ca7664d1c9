/** Whether a Service is meant by `service`: namespace/name, or namespace/; empty: all. */
export function isOfService(service: string): (one: string) => boolean {
  if (service === '') return () => true
  return service.endsWith('/') ? (one) => one.startsWith(service) : (one) => one === service
}
