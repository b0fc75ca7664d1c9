import type { JsonObject } from '../../../../lib/json.ts'
import type { StatusCause } from '../../../status/status.ts'

/** A spec with what was missing filled in, or what is wrong with what it names. */
export type Filled = { readonly spec: JsonObject } | { readonly cause: StatusCause }
