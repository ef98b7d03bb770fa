import { useRef, useState } from 'react'
import { setSingleKeys, singleKeysAreOn, useAllKeys, useKeys } from './parts/keys.tsx'

/** Every key that does something on this page. */
export function KeyHelp() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOn, setOn] = useState(singleKeysAreOn)
  const keys = useAllKeys()
  const show = () => dialog.current?.showModal()
  useKeys({ '?': { says: 'show these keys', does: show } })
  return (
    <>
      <button type="button" className="quiet" onClick={show} title="Keys (?)">
        Keys
      </button>
      <dialog ref={dialog} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys on this page</h2>
        <dl className="keys">
          {keys.map(([key, says]) => (
            <div key={key}>
              <dt>
                {key.split(' ').map((part) => (
                  <kbd key={part}>{part}</kbd>
                ))}
              </dt>
              <dd>{says}</dd>
            </div>
          ))}
        </dl>
        <label className="choice">
          <input
            type="checkbox"
            checked={isOn}
            onChange={({ target }) => {
              setSingleKeys(target.checked)
              setOn(target.checked)
            }}
          />{' '}
          Single keys do something
        </label>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  )
}
