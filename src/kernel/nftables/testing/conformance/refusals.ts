import { ELEMENT_CASES } from './element-cases.ts'
import { OBJECT_CASES } from './object-cases.ts'
import type { RefusalCase } from './refusal-case.ts'

/** What nf_tables accepts and what it refuses: the fake and the kernel are both checked against these cases. */
export const REFUSALS: readonly RefusalCase[] = [...OBJECT_CASES, ...ELEMENT_CASES]
