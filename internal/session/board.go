package session

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// onBoard carries out what a call wants of the board. What changes and the call's result are one transaction.
func (a *actor) onBoard(c turn.Call, in troupe.Intent) error {
	changed, text, err := a.st.Board.Do(in)
	if err != nil {
		return a.stage(resultOf(c, err.Error(), true))
	}
	if len(changed) > 0 {
		for i := range changed {
			it := &changed[i]
			for _, words := range []*string{&it.Subject, &it.Description, &it.ActiveForm, &it.Owner} {
				*words = a.h.d.Mask(*words)
			}
		}
		if err := a.stage(troupe.BoardChanged{Items: changed}); err != nil {
			return err
		}
		a.hooks.board(in, changed)
	}
	return a.stage(resultOf(c, a.h.d.Mask(text), false))
}
