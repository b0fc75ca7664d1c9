import { NodeProxyError } from '../../lib/error.ts'

/** Kernels without these hold nothing of ours in them. */
const ABSENT = new Set(['NP_KERNEL_IPVS_MISSING', 'NP_KERNEL_IPSET'])

/** What a kernel without IPVS or sets cannot do need not be done. */
export async function ifPresent(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof NodeProxyError && ABSENT.has(error.code))) throw error
  }
}
