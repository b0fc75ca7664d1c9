import type { AdmissionParts } from '../admission.ts'
import type { BufferPool } from './buffer-pool.ts'

/** An address at which this worker listens. */
export interface OpenListener {
  /**
   * Listens no more. TCP connections go on, and clients that the kernel has accepted
   * are served; UDP flows end, because they answer from the listener's socket.
   */
  close(): Promise<void>
}

/** What all listeners of a worker share. */
export interface ListenerParts extends AdmissionParts {
  readonly buffers: BufferPool
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
}
