package shapes

import "testing"

func TestArea(t *testing.T) {
	if sides := len("abc"); sides != 3 {
		t.Fatal("no")
	}
}
