/** Rejects after `ms`; for a race with an event that must happen. */
export function expiry(ms: number): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  setTimeout(() => reject(new Error(`no event for ${ms} ms`)), ms).unref()
  return promise
}
