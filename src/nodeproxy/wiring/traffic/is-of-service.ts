/** Whether `service` selects a Service: namespace/name, or namespace/ for all of a namespace; empty: all. */
export function isOfService(service: string): (one: string) => boolean {
  if (service === '') return () => true
  return service.endsWith('/') ? (one) => one.startsWith(service) : (one) => one === service
}
