import type { RequestReporter } from '../http/api-failures.ts'

/** For tests of what does not concern the outcome of requests. */
export const silentReporter: RequestReporter = {
  failed: () => undefined,
  succeeded: () => undefined,
}
