import { html } from 'htm/preact'

/** namespace/name, of which the name is what readers look for. */
export function ServiceName({ service }: { readonly service: string }) {
  const [namespace, name] = service.split('/')
  return html`<span class="namespace">${namespace}/</span>${name}`
}
