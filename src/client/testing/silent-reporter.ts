import type { RequestReporter } from '../http/api-failures.ts'

/** For tests in which the outcomes of requests do not matter. */
export const silentReporter: RequestReporter = {
  failed: () => undefined,
  succeeded: () => undefined,
}
