import type { Problem } from '../../../resources/problem.ts'
import type { Raw } from '../../../resources/reader.ts'
import * as rules from '../../resource/object-rules.ts'
import type { Resource } from '../../resource/resource.ts'
import { catalogue } from '../catalogue.ts'

/** The rules of kinds, for tests that name kinds: as `resource/object-rules.ts` applies them. */

export function validateObject(kind: string, raw: Raw, old?: Raw): readonly Problem[] {
  return rules.validateObject(resourceOf(kind), raw, old)
}

export function validateUpdate(kind: string, next: Raw, old: Raw): readonly Problem[] {
  return rules.validateUpdate(resourceOf(kind), next, old)
}

export function applyDefaults(kind: string, raw: Raw): Raw {
  return rules.applyDefaults(resourceOf(kind), raw)
}

function resourceOf(kind: string): Resource {
  const found = catalogue.find((resource) => resource.kind === kind)
  if (found === undefined) throw new Error(`no kind ${kind}`)
  return found
}
