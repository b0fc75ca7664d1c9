import type { ServerContext } from '../context/server-context.ts'
import type { ServiceAllocator } from '../kinds/service/allocation/service-allocator.ts'

/** What the background services work with: they also know which addresses and ports exist. */
export interface BackgroundContext extends ServerContext {
  readonly allocator: ServiceAllocator
}
