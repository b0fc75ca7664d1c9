import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../persist/persist.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { StatusError } from '../status/status.ts'
import { awaitRetry } from './await-retry.ts'

/** The two ways to write an object of which it is not known whether it exists. */
export interface UpdateOrCreate {
  /** Undefined when there is none. */
  readonly update: () => Promise<Written | StatusError | undefined>
  readonly create: () => Promise<Written | StatusError>
}

export interface UpdatedOrCreated extends Written {
  readonly isNew: boolean
}

/**
 * Updates an object, or creates it when there is none. Another client that creates
 * or deletes it in between costs another round, until the request's deadline.
 */
export async function updateOrCreate(
  context: ServerContext,
  request: ApiRequest,
  { update, create }: UpdateOrCreate,
): Promise<UpdatedOrCreated | StatusError> {
  for (let losses = 1; ; losses++) {
    const updated = await update()
    if (updated instanceof StatusError) return updated
    if (updated !== undefined) return { ...updated, isNew: false }
    const created = await create()
    if (!(created instanceof StatusError)) return { ...created, isNew: true }
    if (created.status.reason !== 'AlreadyExists') return created
    const late = await awaitRetry(context, request, losses)
    if (late !== undefined) return late
  }
}
