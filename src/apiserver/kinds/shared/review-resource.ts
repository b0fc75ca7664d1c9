import type { Resource, Review } from '../../resource/resource.ts'

type Declared = Pick<Resource, 'plural' | 'singular' | 'kind' | 'namespaced' | 'versions'> &
  Partial<Pick<Resource, 'validate' | 'isConfidential'>> & { readonly review: Review }

/** A kind whose objects are requests that the server answers and does not store. */
export function reviewResource(declared: Declared): Resource {
  return {
    validate: () => undefined,
    ...declared,
    shortNames: [],
    categories: [],
    createOnUpdate: false,
    updateNeedsVersion: false,
    countsGenerations: false,
    fields: () => ({}),
    columns: [],
    validateUpdate: 'none',
    defaults: 'none',
  }
}
