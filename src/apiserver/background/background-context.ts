import type { ServerContext } from '../context/server-context.ts'
import type { ServiceAllocator } from '../kinds/service/allocation/service-allocator.ts'

/** The context of background work, whose allocator also has the ranges of addresses and ports. */
export interface BackgroundContext extends ServerContext {
  readonly allocator: ServiceAllocator
}
