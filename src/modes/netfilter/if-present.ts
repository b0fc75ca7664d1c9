import { NodeProxyError } from '../../lib/error.ts'

/** The error codes of kernels without IPVS or IP sets, which therefore hold nothing of ours in them. */
const ABSENT = new Set(['NP_KERNEL_IPVS_MISSING', 'NP_KERNEL_IPSET'])

/** Runs `work`, and ignores the error if the kernel has no IPVS or no sets: there is nothing to do in such a kernel. */
export async function ifPresent(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof NodeProxyError && ABSENT.has(error.code))) throw error
  }
}

/**
 * Takes each step with `ifPresent`, whatever became of the earlier ones, and throws the first error
 * in the end.
 */
export async function removeInTurn(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const problems: unknown[] = []
  for (const step of steps) {
    await ifPresent(step).catch((error: unknown) => problems.push(error))
  }
  if (problems.length > 0) throw problems[0]
}
