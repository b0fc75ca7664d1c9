/** Of a path that `isInnerPath` rejects. */
export const PATH_FAULT = 'must be a relative path without .., such as token'

/**
 * Whether a path stays below the folder that it is relative to, and names something there. One that
 * begins with `..` is taken: the node keeps its own files under such names.
 */
export function isInnerPath(path: unknown): path is string {
  if (typeof path !== 'string' || /^(?:\/|\.\.)|\p{C}/u.test(path)) return false
  const parts = path.split('/')
  return !parts.includes('..') && parts.some((part) => part !== '' && part !== '.')
}

/** Whether a path may be that of a file below a folder. */
export function isInnerFile(path: unknown): path is string {
  return isInnerPath(path) && !/(?:^|\/)\.?$/.test(path)
}
