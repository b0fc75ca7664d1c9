import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** A listener that is loaded with the first request: a daemon without readers does not pay for it. */
export function lazyListener(
  load: () => Promise<RequestListener>,
  onError: (error: unknown) => void,
): RequestListener {
  const state: { loaded: Promise<RequestListener> | undefined } = { loaded: undefined }
  return (request: IncomingMessage, response: ServerResponse) => {
    state.loaded ??= load()
    state.loaded.then(
      (listener) => listener(request, response),
      (error: unknown) => {
        onError(error)
        response.destroy()
      },
    )
  }
}
