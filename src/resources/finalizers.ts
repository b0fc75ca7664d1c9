/** Finalizers that the API server sets and the controllers remove. */

/** The object is deleted after its dependents. */
export const FOREGROUND = 'foregroundDeletion'
/** The object is deleted when its dependents no longer refer to it. */
export const ORPHAN = 'orphan'
/** In `spec.finalizers` of a Namespace: the Namespace is deleted once it is empty. */
export const EMPTIED = 'kubernetes'
